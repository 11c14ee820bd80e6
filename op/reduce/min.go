package reduce

func init() { registerExtreme("min", "Gives the smallest element.", "largest", false) }
