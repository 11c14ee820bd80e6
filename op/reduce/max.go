package reduce

func init() { registerExtreme("max", "Gives the largest element.", "smallest", true) }
