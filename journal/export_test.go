package journal

import "time"

// Seal makes a line of an object without its closing brace.
func Seal(open string) []byte { return seal([]byte(open), 0) }

// ParseOperators is parseOperators.
func ParseOperators(b []byte) (*Operators, error) { return parseOperators(b) }

// AppendStep is appendStep.
func AppendStep(b []byte, step int64, at time.Duration, s *Scalars) []byte {
	return appendStep(b, step, at, s)
}
