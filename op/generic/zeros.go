package generic

func init() { registerFill("zeros", 0) }
