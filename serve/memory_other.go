//go:build !linux

package serve

import (
	"os"
	"runtime"

	"github.com/bivouac-ml/bivouac/errs"
)

func unsupported() error {
	return &errs.Error{Kind: errs.Unsupported, Op: "serve", Subject: "shared memory", Want: "Linux", Got: runtime.GOOS}
}

func sharedMemory(string, int64) (*os.File, []byte, error) { return nil, nil, unsupported() }

func memfd(string) (*os.File, error) { return nil, unsupported() }

func extend(*os.File, int64, int64) ([]byte, error) { return nil, unsupported() }

func unmap([]byte) {}

type reach struct{}

func (*connection) newReach(uint64, string) *reach { return nil }

func (*reach) write(uint64, []byte) error { return unsupported() }

func (*reach) read([]byte, []piece) error { return unsupported() }

func scratch(int64) ([]byte, error) { return nil, unsupported() }

func adviseHuge([]byte) {}

func forget([]byte, int64, int64) {}

func checkRoom(int64) error { return unsupported() }
