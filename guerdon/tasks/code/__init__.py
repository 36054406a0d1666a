"""Problems whose answers are small Python functions: compositions of operations, their programs, faults and hidden tests."""
