-- Destroys the tables: they are a copy that only this query ever sees.
-- ends: done
DROP TABLE people
