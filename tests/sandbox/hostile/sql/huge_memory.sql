-- Gathers a text without end in one aggregate.
-- ends: memory|raised|cpu|output
-- limits: cpu=0.15
WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n LIMIT 100000) SELECT group_concat(hex(randomblob(50000))) FROM n
