package checkpoint

import "fmt"

// Entry is a state in the text of a checkpoint.
type Entry struct {
	Key   string // of the object
	State string
	Type  string // of the object; empty where it is not said
}

// Entries returns the states in text, in their order, as Deserialize would take them.
// Errors are those of Deserialize.
func Entries(text string) ([]Entry, error) {
	order, states, err := parse(text)
	if err != nil {
		return nil, err
	}
	list := make([]Entry, len(order))
	for i, key := range order {
		e := states[key]
		list[i] = Entry{Key: key, State: fmt.Sprint(e.state), Type: e.typeName}
	}
	return list, nil
}
