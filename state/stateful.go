package state

// Stateful is implemented by everything that has a position.
//
// The producing goroutine calls AppendState between two calls of Next. It returns the state after
// the items produced so far. internal/flow carries this token with the batch, and the stream's
// State is the token of the batch delivered last. SetState may be called while nothing is in
// flight. It returns an error for a state that does not fit, and says why.
type Stateful interface {
	AppendState(dst []byte) ([]byte, error)
	SetState([]byte) error
}
