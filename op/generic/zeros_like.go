package generic

func init() { registerLike("zeros_like", "zeros", 0) }
