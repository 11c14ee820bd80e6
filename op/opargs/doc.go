// Package opargs holds the arguments of each operator as a struct, generated
// from the schemas and shared by all typed ways to call operators. The zero
// value of a field is the operator's default.
package opargs
