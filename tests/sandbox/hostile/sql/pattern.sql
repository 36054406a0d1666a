-- Matches a pattern that takes exponential time.
-- ends: cpu|raised
-- limits: cpu=0.4
SELECT printf('%.3000c', 'a') LIKE '%a%a%a%a%a%a%a%a%a%a%a%a%b'
