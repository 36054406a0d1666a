"""ReflexiCoder: programs that their author reflects on and corrects."""
