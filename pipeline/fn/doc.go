// Package fn holds a typed function for each operator: it appends the operator
// to a pipeline's graph and returns what it gives.
//
//	jpegs, labels := fn.ReadersFile(p, fn.ReadersFileArgs{FileRoot: "train", RandomShuffle: true})
//	images := fn.DecodersImage(p, jpegs, fn.DecodersImageArgs{})
//
// Names are those of DALI in CamelCase, modules included: random.coin_flip is
// RandomCoinFlip. A field that is not set is the default. Arguments whose zero is
// not the default, or which may differ per sample, are an op.Arg: op.Const(v) or
// op.Of[T](node).
//
// The functions and the structs of op/opargs are generated from the schemas.
package fn

//go:generate go test -run TestGenerated -update .
