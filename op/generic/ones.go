package generic

func init() { registerFill("ones", 1) }
