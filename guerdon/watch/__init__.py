"""The watch: rules read the numbers of a run's steps and raise alarms; they never change what is learned."""
