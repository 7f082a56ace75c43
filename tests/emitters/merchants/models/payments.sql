select p.id, p.amount, p.status, p.day, t.merchant
from {{ source('cards', 'card_payments') }} as p
join {{ ref('terminals') }} as t on t.terminal = p.terminal
