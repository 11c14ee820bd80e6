// Package fn holds a typed function for each operator: it appends the operator
// to a pipeline's graph and returns what it gives.
//
//	jpegs, labels := fn.ReadersFile(p, fn.ReadersFileArgs{FileRoot: "train", RandomShuffle: true})
//	images := fn.DecodersImage(p, jpegs, fn.DecodersImageArgs{})
//
// A function has DALI's name in CamelCase with its module: random.coin_flip is RandomCoinFlip. A
// field that is not set takes the default. An argument whose zero is not the default, or which may
// differ per sample, is an op.Arg: op.Const(v) or op.Of[T](node).
//
// Add, Sqrt and the other functions of arithmetic take nodes and Go numbers instead of a
// builder: fn.Sub(10, x). A Node has methods for those that Go writes as signs: x.Sub(10).
// [pipeline.Apply] has the rules.
//
// The functions and the structs of op/opargs are generated from the schemas, arithmetic
// from a table of generate_arith_test.go.
package fn

//go:generate go test -run TestGenerated -update .
