-- Overflows the parser with an expression that is nested too deep.
-- ends: raised
SELECT {deep}
