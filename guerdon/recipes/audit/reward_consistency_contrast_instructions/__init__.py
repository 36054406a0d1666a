"""Whether reward models notice that the instruction is another one."""
