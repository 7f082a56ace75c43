-- Only money that moved is scored: a pending or declined transaction may still change.
SELECT
  tx_id,
  account_id,
  iban,
  merchant_id,
  country,
  channel,
  amount,
  currency,
  booked_at,
  settled_at
FROM frame
WHERE status = 'settled'
