package broadcast

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
)

// protocol is the version of words and frames.
const protocol = 1

// The states of a process.
const (
	stateRead   = "read"
	stateDone   = "done"
	stateFailed = "failed"
)

// word is what a process tells the others before a round.
type word struct {
	Protocol int      `json:"protocol"`
	State    string   `json:"state"`
	Failure  *failure `json:"failure,omitempty"`
	Fields   []Field  `json:"fields,omitempty"` // the same on all processes
	Round    []Field  `json:"round,omitempty"`  // the same in a group
	Stream   string   `json:"stream,omitempty"` // of a primary
}

// Field is a value that must be the same on several processes.
type Field struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// failure is an error on its way to another process.
type failure struct {
	Kind errs.Kind `json:"kind"`
	Text string    `json:"text"`
}

const mostFailure = 2000 // bytes of text

func fail(err error) *failure {
	if err == nil {
		return nil
	}
	text := err.Error()
	return &failure{errs.KindOf(err), text[:min(len(text), mostFailure)]}
}

// from returns the failure as the error of a process.
func (f *failure) from(process int) error {
	return &errs.Error{Kind: f.Kind, Op: "broadcast", Subject: "process " + strconv.Itoa(process),
		Err: errors.New(f.Text)}
}

// parse reads the words of all processes.
func parse(all [][]byte) ([]word, error) {
	out := make([]word, len(all))
	for p, b := range all {
		err := json.Unmarshal(b, &out[p])
		w := &out[p]
		switch {
		case err != nil || w.Protocol == 0:
			return nil, &errs.Error{Kind: errs.Corrupt, Op: "broadcast", Subject: "process " + strconv.Itoa(p),
				Want: "a word of a load",
				Got:  fmt.Sprintf("%.60q", b), Err: err, Remedy: "all processes must run the same program"}
		case w.Protocol != protocol:
			return nil, differ(p, "version of the protocol", strconv.Itoa(protocol), strconv.Itoa(w.Protocol),
				"run the same version of Bivouac in all processes")
		case w.State == stateFailed && w.Failure == nil:
			w.Failure = &failure{errs.Other, "a failure without a reason"}
		}
	}
	return out, nil
}

// judge returns the error with which the load ends on all processes, or nil.
func judge(words []word, group func(p int) (primary int)) error {
	for p, w := range words {
		if w.State == stateFailed {
			return w.Failure.from(p)
		}
	}
	for p, w := range words {
		if err := compare(p, 0, words[0].Fields, w.Fields, remedyOptions); err != nil {
			return err
		}
		q := group(p)
		if w.State != words[q].State {
			return differ(p, "the state of the load", words[q].State+", as process "+strconv.Itoa(q), w.State,
				remedyBoxes)
		}
		if err := compare(p, q, words[q].Round, w.Round, remedyBoxes); err != nil {
			return err
		}
	}
	return nil
}

const (
	remedyOptions = "all processes must load the same checkpoint with the same options"
	remedyBoxes   = "processes that differ only on the axis of replicas must ask for the same boxes; " +
		"see ReplicaAxisIndex and MeshShape, or set UseLoadAndBroadcast Off"
)

// compare compares the fields of process p with the fields of process q.
func compare(p, q int, want, got []Field, remedy string) error {
	for i, f := range want {
		value := "nothing"
		if i < len(got) && got[i].Name == f.Name {
			value = got[i].Value
		}
		if value != f.Value {
			return differ(p, f.Name, f.Value+", as process "+strconv.Itoa(q), value, remedy)
		}
	}
	if len(got) > len(want) {
		return differ(p, got[len(want)].Name, "nothing, as process "+strconv.Itoa(q), got[len(want)].Value, remedy)
	}
	return nil
}

func differ(p int, field, want, got, remedy string) error {
	return &errs.Error{Kind: errs.Mismatch, Op: "broadcast", Subject: "process " + strconv.Itoa(p) + ": " + field,
		Want: want,
		Got:  got, Remedy: remedy}
}
