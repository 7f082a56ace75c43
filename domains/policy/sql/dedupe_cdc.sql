-- One loss, one claim: customers submit the same loss twice, by telephone and again in the portal, and each
-- submission gets an id of its own. The first one stays, and says how often the loss was submitted.
-- (That a claim changed many times is none of this file's business: the reader hands over its last state.)
WITH submitted AS (
  SELECT
    *,
    row_number() OVER (
      PARTITION BY policy_id, incident_date, claim_type, amount_claimed, if(policy_id IS NULL, claim_id, NULL)
      ORDER BY reported_at, claim_id
    ) AS submission,
    count(*) OVER (
      -- Claims without a policy are nobody's duplicates.
      PARTITION BY policy_id, incident_date, claim_type, amount_claimed, if(policy_id IS NULL, claim_id, NULL)
    ) AS submissions
  FROM frame
)

SELECT
  claim_id,
  policy_id,
  claimant_id,
  claim_type,
  incident_date,
  reported_at,
  amount_claimed,
  amount_approved,
  currency,
  status,
  adjuster_id,
  channel,
  submissions,
  -- The day of the first report never changes: whatever happens to a claim, it stays in its partition.
  CAST(reported_at AS DATE) AS ingest_date
FROM submitted
WHERE submission = 1
