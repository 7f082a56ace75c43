-- What each merchant is owed for a day, by currency: nobody adds euros to francs.
-- Only settled transactions count. Every amount is an exact decimal; the fee is rounded once, half up, on the sum.
WITH totals AS (
  SELECT
    merchant_id,
    max(merchant_name) AS merchant_name,
    currency,
    CAST(settled_at AS DATE) AS settlement_date,
    count(*) AS transactions,
    CAST(sum(amount) AS DECIMAL(18, 2)) AS gross_amount
  FROM frame
  WHERE status = 'settled'
  GROUP BY merchant_id, currency, CAST(settled_at AS DATE)
),

charged AS (
  SELECT
    *,
    CAST(round(gross_amount * CAST(:fee_rate AS DECIMAL(6, 4)), 2) AS DECIMAL(18, 2)) AS fee_amount
  FROM totals
)

SELECT
  merchant_id,
  merchant_name,
  currency,
  transactions,
  gross_amount,
  fee_amount,
  CAST(gross_amount - fee_amount AS DECIMAL(18, 2)) AS net_amount,
  settlement_date
FROM charged
