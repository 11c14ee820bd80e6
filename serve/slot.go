package serve

import (
	"os"
	"strconv"
	"sync"
	"unsafe"

	"github.com/bivouac-ml/bivouac/errs"
)

// mostHeld is how many batches a client may hold unless it asks for another number.
const mostHeld = 64

// slots are the memory in which batches, or values, go to the client. Both sides map a slot. The
// pipeline makes large outputs in slots, and small ones are copied into one. The client says when
// nothing uses a slot any more. Then it takes another output. The client also has rooms: slots for
// data that it is about to feed. slots implement pipeline.Memory.
type slots struct {
	most int // batches that may be held
	// op, what and remedy are for errors: the call, what the client holds, and what it can do.
	op, what, remedy string

	mu      sync.Mutex
	last    int64 // number of a slot
	batches int64 // that were handed out
	clock   int64 // how often a slot was taken
	all     map[int64]*slot
	gone    []int64 // that the client was not told of yet
}

// slot is memory for one or several outputs.
type slot struct {
	number int64
	mem    []byte
	file   *os.File // until the client has it
	used   bool     // by the pipeline or the client
	room   bool     // the client puts data into it that it is about to feed
	batch  int64    // that the client has in it, from 1 on; 0: none
	since  int64    // the clock when it became free
}

// ownSlot is the size from which an output is made in a slot.
const ownSlot = 64 << 10

// patience is how often slots are taken until one that nobody used meanwhile is given up.
const patience = 32

// Allocate implements pipeline.Memory.
func (s *slots) Allocate(n int) []byte {
	if n >= ownSlot {
		s.mu.Lock()
		defer s.mu.Unlock()
		if t, err := s.take(int64(n)); err == nil {
			return t.mem[:n:len(t.mem)]
		}
		// There is no shared memory now. The batch is copied when it is handed out.
	}
	words := make([]uint64, (n+7)/8)
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words))[:n:n]
}

// Free implements pipeline.Memory.
func (s *slots) Free(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, _ := s.find(b); t != nil && t.batch == 0 {
		s.release(t)
	}
}

// find returns the slot that b lies in, and where. It returns nil if b is other memory.
func (s *slots) find(b []byte) (*slot, int64) {
	if cap(b) == 0 {
		return nil, 0
	}
	p := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	for _, t := range s.all {
		begin := uintptr(unsafe.Pointer(unsafe.SliceData(t.mem)))
		if p >= begin && p < begin+uintptr(len(t.mem)) {
			return t, int64(p - begin)
		}
	}
	return nil, 0
}

// free takes slots back from the client.
func (s *slots) free(numbers []int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range numbers {
		t := s.all[n]
		if t == nil || t.batch == 0 {
			return wrongArgument("freed", "slots that the client holds", strconv.FormatInt(n, 10))
		}
		s.release(t)
	}
	return nil
}

// lend gives slots to the client, which holds them as one batch. It returns what the client is
// told, and the files of slots that are new to it.
func (s *slots) lend(all []*slot) (uses []slotUse, files []*os.File) {
	s.batches++
	for _, t := range all {
		if t == nil || t.batch == s.batches {
			continue
		}
		t.batch = s.batches
		uses = append(uses, slotUse{t.number, len(t.mem), t.file != nil})
		if t.file != nil {
			files, t.file = append(files, t.file), nil
		}
	}
	return uses, files
}

func (s *slots) release(t *slot) { t.used, t.room, t.batch, t.since = false, false, 0, s.clock }

// admit returns an error if the client holds as many batches as it may.
func (s *slots) admit() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := map[int64]struct{}{}
	for _, t := range s.all {
		if t.batch > 0 {
			held[t.batch] = struct{}{}
		}
	}
	if len(held) < s.most {
		return nil
	}
	return &errs.Error{Kind: errs.Exhausted, Op: s.op, Subject: s.what,
		Want: "at most " + strconv.Itoa(s.most) + " that the program holds", Got: strconv.Itoa(len(held)), Remedy: s.remedy}
}

// take returns a slot of at least n bytes that nobody uses.
func (s *slots) take(n int64) (*slot, error) {
	s.clock++
	var best *slot
	for _, t := range s.all {
		if size := int64(len(t.mem)); !t.used && size >= n && (best == nil || size < int64(len(best.mem))) {
			best = t
		}
	}
	if best == nil {
		s.dropFree(patience)
		var err error
		if best, err = s.make(n); err != nil {
			s.dropFree(0)
			best, err = s.make(n)
		}
		if err != nil {
			return nil, errs.Wrap(s.op, "", err)
		}
	}
	best.used = true
	return best, nil
}

// make makes a slot.
func (s *slots) make(n int64) (*slot, error) {
	size := pageUp(max(1, n))
	if err := checkRoom(size); err != nil {
		return nil, err
	}
	file, mem, err := sharedMemory("bivouac-slot", size)
	if err != nil {
		return nil, err
	}
	if s.all == nil {
		s.all = map[int64]*slot{}
	}
	s.last++
	t := &slot{number: s.last, mem: mem, file: file}
	s.all[s.last] = t
	return t, nil
}

// dropFree gives up the slots that nobody has used since an age of the clock. Their numbers are not
// used again.
func (s *slots) dropFree(age int64) {
	for _, t := range s.all {
		if !t.used && s.clock-t.since >= age {
			s.drop(t)
		}
	}
}

func (s *slots) drop(t *slot) {
	if t.file == nil {
		s.gone = append(s.gone, t.number)
	}
	closeFile(t.file)
	unmap(t.mem)
	delete(s.all, t.number)
}

// close gives all memory back. What the client has mapped stays readable.
func (s *slots) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.all {
		s.drop(t)
	}
}
