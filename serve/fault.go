package serve

import (
	"context"
	"errors"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// fault is an error as it travels.
type fault struct {
	Kind    string   `json:"kind"`
	Op      string   `json:"op"`
	Subject string   `json:"subject"`
	Want    string   `json:"want"`
	Got     string   `json:"got"`
	Remedy  string   `json:"remedy"`
	Text    string   `json:"text"`
	Tags    []string `json:"tags"`
}

// newFault describes err, which is not nil.
func newFault(err error) *fault {
	f := &fault{Kind: errs.KindOf(err).String(), Text: oneLine(err), Tags: tagsOf(err)}
	if e := telling(err); e != nil {
		f.Op, f.Subject, f.Want, f.Got, f.Remedy = e.Op, errs.WithoutSecrets(e.Subject), e.Want, e.Got, e.Remedy
	}
	return f
}

// telling returns the outermost errs.Error that says what was wanted, found or can be done, or the
// outermost one at all.
func telling(err error) *errs.Error {
	var first *errs.Error
	for err != nil {
		var e *errs.Error
		if !errors.As(err, &e) {
			break
		}
		if e.Want != "" || e.Got != "" || e.Remedy != "" {
			return e
		}
		if first == nil {
			first = e
		}
		err = e.Err
	}
	return first
}

// tagsOf names the sentinels in the chain.
func tagsOf(err error) []string {
	tags := []string{}
	for _, s := range []struct {
		name string
		err  error
	}{
		{"removed", store.ErrRemoved}, {"replaced", store.ErrReplaced}, {"uncertain", store.ErrUncertain},
		{"deadline", context.DeadlineExceeded},
	} {
		if errors.Is(err, s.err) {
			tags = append(tags, s.name)
		}
	}
	return tags
}

func oneLine(err error) string {
	return strings.ReplaceAll(strings.TrimRight(err.Error(), "\n"), "\n", "; ")
}
