-- Works without end and gives nothing.
-- ends: cpu
-- limits: cpu=0.15
WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n
