-- The fraud score: a logistic model over what one transaction shows about itself.
-- One row in, one row out; the same transaction has the same score in every run of the same model.
WITH features AS (
  SELECT
    *,
    ln(1 + CAST(amount AS DOUBLE)) AS log_amount,
    hour(booked_at) AS booked_hour,
    CASE
      WHEN country IN ('DE', 'AT') THEN 0.0D
      WHEN country IN ('FR', 'NL', 'ES', 'IT', 'CH') THEN 0.35D
      WHEN country IN ('PL', 'GB') THEN 0.6D
      ELSE 1.3D
    END AS country_risk,
    CASE channel WHEN 'ecom' THEN 0.8D WHEN 'atm' THEN 0.5D WHEN 'pos' THEN 0.1D ELSE 0.0D END AS channel_risk,
    -- Stands for the model's other features: a number in [-1, 1) that belongs to the transaction.
    (pmod(xxhash64(tx_id, merchant_id), 20000) - 10000) / 10000.0D AS residual
  FROM frame
)

SELECT
  tx_id,
  account_id,
  iban,
  merchant_id,
  country,
  channel,
  amount,
  currency,
  settled_at,
  1 / (
    1 + exp(
      6.0D
      - 0.75D * log_amount
      - country_risk
      - channel_risk
      - CASE WHEN booked_hour < 6 THEN 0.9D ELSE 0.0D END
      - 0.8D * residual
    )
  ) AS fraud_score,
  :model_version AS model_version,
  CAST(settled_at AS DATE) AS scored_date
FROM features
