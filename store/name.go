package store

import "strings"

// stagingMark is what Orbax looks for in a name to call it temporary.
const stagingMark = ".orbax-checkpoint-tmp"

// StagingName is the name under which a transaction with the final name
// final and the 16 hexadecimal digits nonce is built.
func StagingName(final, nonce string) string { return final + stagingMark + "-" + nonce }

// IsStaging reports whether the last element of name is a staging name, ours
// or Orbax's (which has no nonce, or a time stamp for one).
func IsStaging(name string) bool {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[i+1:]
	}
	return strings.Contains(name, stagingMark)
}
