package generic

func init() { registerLike("ones_like", "ones", 1) }
