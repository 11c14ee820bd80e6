package video

import (
	"bufio"
	"errors"
	"io"
)

// eachJPEG calls found with each of the JPEG images that follow each other. An image that is cut at
// the end of the file counts.
func eachJPEG(in io.Reader, found func(p part) error) error {
	s := jpegScanner{in: bufio.NewReaderSize(in, 1<<16)}
	for {
		err := s.image()
		if errors.Is(err, io.EOF) {
			if s.inside {
				return found(part{s.start, s.at - s.start})
			}
			return nil
		}
		if err == nil {
			err = found(part{s.start, s.at - s.start})
		}
		if err != nil {
			return err
		}
	}
}

// jpegScanner finds the ends of images.
type jpegScanner struct {
	in     *bufio.Reader
	at     int64
	start  int64 // of the image
	inside bool
}

func (s *jpegScanner) next() (byte, error) {
	b, err := s.in.ReadByte()
	if err == nil {
		s.at++
	}
	return b, err
}

// image goes to the end of the next image.
func (s *jpegScanner) image() error {
	s.inside = false
	var b byte
	var err error
	for last := byte(0); ; last = b { // to the beginning
		if b, err = s.next(); err != nil {
			return err
		}
		if last == 0xff && b == markStart {
			break
		}
	}
	s.start, s.inside = s.at-2, true
	if b, err = s.next(); err != nil {
		return err
	}
	for {
		for b != 0xff { // in the data of a scan, or between segments
			if b, err = s.next(); err != nil {
				return err
			}
		}
		for b == 0xff {
			if b, err = s.next(); err != nil {
				return err
			}
		}
		switch {
		case b == markEnd:
			return nil
		case b == 0, b >= 0xd0 && b <= markStart, b == 1: // no segment
		default:
			var size int
			for range 2 {
				if b, err = s.next(); err != nil {
					return err
				}
				size = size<<8 | int(b)
			}
			n, err := s.in.Discard(max(0, size-2))
			s.at += int64(n)
			if err != nil {
				return err
			}
		}
		if b, err = s.next(); err != nil {
			return err
		}
	}
}
