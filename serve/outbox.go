package serve

import (
	"net"
	"os"
	"sync"
	"time"
)

// outbox sends frames in their order. No caller waits for a slow client, so that a save goes on
// while its trainer stands still: what the socket does not take at once is sent from a goroutine.
type outbox struct {
	conn *net.UnixConn
	done chan struct{} // closed when nothing is sent any more

	mu     sync.Mutex
	wake   *sync.Cond
	queue  []message
	bytes  int
	busy   bool // the goroutine sends
	ended  bool // nothing is added any more
	broken bool // nothing can be sent any more
}

// message is a frame and the files that travel with it.
type message struct {
	frame []byte
	files []*os.File
}

// maxQueued bounds the frames that a client has not read. A client that reads none of them is as
// good as gone.
const maxQueued = 2 * maxFrame

// flushTime is how long the end of a connection waits for the client to read the last frames.
const flushTime = 2 * time.Second

func newOutbox(conn *net.UnixConn) *outbox {
	o := &outbox{conn: conn, done: make(chan struct{})}
	o.wake = sync.NewCond(&o.mu)
	go o.run()
	return o
}

// send takes the frame and the files, which it closes.
func (o *outbox) send(frame []byte, files []*os.File) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended || o.broken {
		closeFiles(files)
		return
	}
	if len(o.queue) == 0 && !o.busy && len(files) == 0 {
		if frame = frame[sendNow(o.conn, frame):]; len(frame) == 0 {
			return
		}
	}
	if o.bytes += len(frame); o.bytes > maxQueued {
		o.fail()
		closeFiles(files)
		return
	}
	o.queue = append(o.queue, message{frame, files})
	o.wake.Signal()
}

// finish sends what is queued, within a bound, and ends the goroutine.
func (o *outbox) finish() {
	o.mu.Lock()
	o.ended = true
	o.conn.SetWriteDeadline(time.Now().Add(flushTime)) //nolint:errcheck // then a slow client costs more time
	o.wake.Signal()
	o.mu.Unlock()
	<-o.done
}

func (o *outbox) run() {
	defer close(o.done)
	for {
		m, ok := o.next()
		if !ok {
			return
		}
		err := m.write(o.conn)
		closeFiles(m.files)
		if err != nil {
			o.mu.Lock()
			o.fail()
			o.mu.Unlock()
		}
	}
}

// next waits for a message. ok is false at the end.
func (o *outbox) next() (m message, ok bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.busy = false
	for len(o.queue) == 0 {
		if o.ended || o.broken {
			return message{}, false
		}
		o.wake.Wait()
	}
	m, o.queue, o.busy = o.queue[0], o.queue[1:], true
	o.bytes -= len(m.frame)
	return m, true
}

// fail gives up what is queued and has the reader of the connection see its end.
func (o *outbox) fail() {
	o.broken = true
	for _, m := range o.queue {
		closeFiles(m.files)
	}
	o.queue, o.bytes = nil, 0
	o.conn.CloseRead() //nolint:errcheck // it is closed already then
	o.wake.Signal()
}

// filesOf returns a list of a file that may be nil.
func filesOf(f *os.File) []*os.File {
	if f == nil {
		return nil
	}
	return []*os.File{f}
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		closeFile(f)
	}
}

func closeFile(f *os.File) {
	if f != nil {
		f.Close() //nolint:errcheck // nothing is written through it
	}
}
