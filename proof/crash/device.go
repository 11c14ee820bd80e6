package crash

import "sync"

// A Device is the log of what is written to a block device, from which the device can be made as it
// would be found after a loss of power at any moment.
type Device struct {
	mu   sync.Mutex
	base []byte
	now  []byte
	log  []record
}

// record is a write, a flush, or an event of the workload.
type record struct {
	off   int64
	data  []byte // of a write
	event string // or
}

// flush is the event of a flush.
const flush = "\x00flush"

// NewDevice returns a device with these contents.
func NewDevice(contents []byte) *Device {
	return &Device{base: append([]byte(nil), contents...), now: contents}
}

// ReadAt reads what was written last; past the end there are zeros.
func (d *Device) ReadAt(p []byte, off int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(p)
	if off < int64(len(d.now)) {
		copy(p, d.now[off:])
	}
}

// WriteAt logs a write.
func (d *Device) WriteAt(p []byte, off int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	copy(d.now[min(off, int64(len(d.now))):], p)
	d.log = append(d.log, record{off: off, data: append([]byte(nil), p...)})
}

// Flush logs that all writes before are durable.
func (d *Device) Flush() { d.Event(flush) }

// Event logs something that the workload promises.
func (d *Device) Event(e string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log = append(d.log, record{event: e})
}

// Size returns the number of bytes.
func (d *Device) Size() int64 { return int64(len(d.base)) }

// Crashes calls f with the device after each flush: with the writes up to it, and once more with
// the writes between this flush and the next that survives chooses. acked are the events before the
// flush; in the second case later events must not be relied upon. It stops when f returns false.
func (d *Device) Crashes(survives func() bool, f func(number int, contents []byte, acked []string) bool) {
	d.mu.Lock()
	log, base := d.log, append([]byte(nil), d.base...)
	d.mu.Unlock()
	var acked []string
	number := 0
	for i, r := range log {
		switch {
		case r.event == flush:
			number++
			if !f(number, base, acked) {
				return
			}
			torn, some := append([]byte(nil), base...), false
			for _, next := range log[i+1:] {
				if next.event == flush {
					break
				}
				if next.event == "" && survives() {
					copy(torn[next.off:], next.data)
					some = true
				}
			}
			if some && !f(number, torn, acked) {
				return
			}
		case r.event != "":
			acked = append(acked, r.event)
		default:
			copy(base[r.off:], r.data)
		}
	}
}
