-- Gives rows without end.
-- ends: raised|output|cpu|memory
-- limits: cpu=0.15
WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x, printf('%.1000c', 'x') FROM n
