"""The watch: while a run trains, rules look at the numbers of its steps and raise alarms; what is learned, they never touch."""
