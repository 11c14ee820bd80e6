package faults_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/stream/faults"
)

func TestActionsHaveOneName(t *testing.T) {
	for a := faults.Fail; a <= faults.Zero; a++ {
		if got, err := faults.ParseAction(a.String()); err != nil || got != a {
			t.Errorf("%s: %s, %v", a, got, err)
		}
	}
	if a, err := faults.ParseAction("error"); a != faults.Fail || err != nil {
		t.Errorf("error: %s, %v", a, err)
	}
	if _, err := faults.ParseAction("skips"); !errors.Is(err, errs.Invalid) {
		t.Error(err)
	}
	if got := faults.Action(9).String(); got != "Action(9)" {
		t.Error(got)
	}
}

func TestLedgerKeepsTheLast(t *testing.T) {
	var l faults.Ledger
	for i := range int64(5) {
		l.Add(faults.Fault{Position: i, Reader: "r", ID: i, Action: faults.Skip, Reason: "bad", Err: errors.New("bad")}, 2)
	}
	b, err := json.Marshal(l)
	const want = `{"count":5,"last":[{"position":3,"reader":"r","id":3,"action":"skip","reason":"bad"},{"position":4,"reader":"r","id":4,"action":"skip","reason":"bad"}]}`
	if err != nil || string(b) != want {
		t.Errorf("%s, %v", b, err)
	}
	var read faults.Ledger
	if err := json.Unmarshal(b, &read); err != nil || cmp.Diff(l, read) != "" {
		t.Errorf("%+v, %v", read, err)
	}
}
