package local_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/bivouac-ml/bivouac/internal/vfs/vfstest"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// TestCallLists compares every file-system call of the protocol, in order,
// with testdata/commit. Commands:
//
//	new              an empty file system
//	open             another store on it, as another process would
//	save NAME V      commit version V of a step; version 3 overwrites
//	abort NAME       begin, write, and give up
//	put NAME [if-absent]
//	link NAME FROM   commit a step that takes an object over
//	remove NAME
//	move NAME TO
//	clean DIR
//
// Run with -rewrite to accept a change; the change is then to be reviewed as
// one of the protocol.
func TestCallLists(t *testing.T) {
	var mem *vfstest.Mem
	var s *local.Store
	var log bytes.Buffer
	open := func() { s = local.New(vfstest.NewLog(mem, &log, nil), root, nil) }
	datadriven.RunTest(t, "testdata/commit", func(t *testing.T, d *datadriven.TestData) string {
		log.Reset()
		var arg []string
		for _, a := range d.CmdArgs {
			arg = append(arg, a.Key)
		}
		var err error
		switch d.Cmd {
		case "new":
			mem = vfstest.NewMem()
			open()
		case "open":
			open()
		case "save":
			var version int
			if _, err = fmt.Sscan(arg[1], &version); err == nil {
				err = save(t.Context(), s, arg[0], version)
			}
		case "abort":
			err = abandon(t, s, arg[0])
		case "put":
			err = s.Put(t.Context(), arg[0], []byte("note"), store.PutOptions{IfAbsent: len(arg) > 1})
		case "link":
			err = link(t, s, arg[0], arg[1])
		case "remove":
			err = s.RemoveTree(t.Context(), arg[0])
		case "move":
			err = s.Move(t.Context(), arg[0], arg[1])
		case "clean":
			_, err = s.CleanStaging(t.Context(), arg[0], nil)
		default:
			d.Fatalf(t, "unknown command %s", d.Cmd)
		}
		if err != nil {
			fmt.Fprintln(&log, "error:", err)
		}
		if log.Len() == 0 {
			return "ok\n"
		}
		return log.String()
	})
}

func abandon(t *testing.T, s store.Store, name string) error {
	txn, err := s.Begin(t.Context(), name, store.TxnOptions{})
	if err != nil {
		return err
	}
	if _, err = txn.Create(t.Context(), "d/x", 10); err == nil {
		err = txn.Put(t.Context(), "small", []byte("small"))
	}
	return errors.Join(err, txn.Abort())
}

func link(t *testing.T, s store.Store, name, from string) error {
	txn, err := s.Begin(t.Context(), name, store.TxnOptions{})
	if err != nil {
		return err
	}
	defer txn.Abort() //nolint:errcheck // the error of the commit comes first
	if err := txn.Link(t.Context(), "x", from); err != nil {
		return err
	}
	return txn.Commit(t.Context(), manifest)
}
