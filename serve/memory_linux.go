package serve

import (
	"errors"
	"os"
	"runtime"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/bivouac-ml/bivouac/errs"
)

// sharedMemory returns a new memfd of size bytes, which is whole pages, and its mapping. All its
// pages are allocated. Nobody can change its size: a client that cut it would end the server, and
// the other clients' connections with it, when the server reads behind the cut.
func sharedMemory(name string, size int64) (*os.File, []byte, error) {
	f, err := memfd(name)
	if err != nil {
		return nil, nil, err
	}
	mem, err := extend(f, 0, size)
	if err != nil {
		closeFile(f)
		return nil, nil, err
	}
	seals := unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		unmap(mem)
		closeFile(f)
		return nil, nil, noMemory(size, os.NewSyscallError("fcntl", err))
	}
	return f, mem, nil
}

func memfd(name string) (*os.File, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, &errs.Error{Kind: errs.Exhausted, Subject: "shared memory", Err: os.NewSyscallError("memfd_create", err)}
	}
	return os.NewFile(uintptr(fd), name), nil
}

// extend makes the file end at offset+size, allocates what is new and maps these size bytes. offset
// and size are whole pages.
func extend(f *os.File, offset, size int64) ([]byte, error) {
	if err := f.Truncate(offset + size); err != nil {
		return nil, noMemory(size, err)
	}
	mem, err := unix.Mmap(int(f.Fd()), offset, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, noMemory(size, os.NewSyscallError("mmap", err))
	}
	unix.Madvise(mem, unix.MADV_HUGEPAGE) //nolint:errcheck // a refusal costs only speed
	if err := allocate(f, offset, mem); err != nil {
		unmap(mem)
		return nil, noMemory(size, err)
	}
	return mem, nil
}

func noMemory(size int64, err error) error {
	return &errs.Error{Kind: errs.Exhausted, Subject: "shared memory", Want: strconv.FormatInt(size, 10) + " bytes",
		Err: err, Remedy: "free memory, or save and load less at once"}
}

// allocateBytes is how much one thread allocates at a time.
const allocateBytes = 16 << 20

// allocate allocates the pages of a mapping, which begins at offset of the file, with several
// threads. A page that was not allocated would be a signal instead of an error when it is touched.
func allocate(f *os.File, offset int64, mem []byte) error {
	pieces := make(chan int, (len(mem)+allocateBytes-1)/allocateBytes)
	for at := 0; at < len(mem); at += allocateBytes {
		pieces <- at
	}
	close(pieces)
	var wg sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for range min(runtime.GOMAXPROCS(0), len(pieces)) {
		wg.Go(func() {
			for at := range pieces {
				err := allocatePiece(f, offset+int64(at), mem[at:min(at+allocateBytes, len(mem))])
				if err != nil {
					mu.Lock()
					failed = errors.Join(failed, err)
					mu.Unlock()
					return
				}
			}
		})
	}
	wg.Wait()
	return failed
}

// allocatePiece allocates and maps pages. A kernel before 5.14 only allocates them.
func allocatePiece(f *os.File, offset int64, mem []byte) error {
	err := unix.Madvise(mem, unix.MADV_POPULATE_WRITE)
	if err != unix.EINVAL {
		return os.NewSyscallError("madvise", err)
	}
	for {
		err = unix.Fallocate(int(f.Fd()), 0, offset, int64(len(mem)))
		if err != unix.EINTR {
			return os.NewSyscallError("fallocate", err)
		}
	}
}

func unmap(mem []byte) {
	if len(mem) > 0 {
		unix.Munmap(mem) //nolint:errcheck // it was mapped by this package
	}
}
