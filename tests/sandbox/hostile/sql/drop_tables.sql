-- Destroys the tables, and says that it is a query.
-- ends: forbidden
DROP TABLE people
