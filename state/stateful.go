package state

// Stateful is implemented by everything that has a position.
//
// The goroutine that produces items calls AppendState between two calls of Next. It returns the
// state after the items produced so far. Package internal/flow carries this state with the batch,
// and the State of the stream is the state of the batch that was delivered last. SetState may be
// called while no item is in flight. It returns an error for a state that does not fit, and says
// why.
type Stateful interface {
	AppendState(dst []byte) ([]byte, error)
	SetState([]byte) error
}
