package gcstest

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sumOf(b []byte) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, crc32.Checksum(b, castagnoli)))
}

// holds returns an error unless the condition of a request holds for an object, which is nil if the
// key is absent.
func holds(q url.Values, o *stored) error {
	want := q.Get("ifGenerationMatch")
	if want == "" {
		return nil
	}
	n, err := strconv.ParseInt(want, 10, 64)
	if err != nil {
		return refuse(400, "invalid", "Invalid value at 'ifGenerationMatch'.")
	}
	if found := int64(0); o != nil {
		if found = o.generation; found != n {
			return refuse(412, "conditionNotMet", "At least one of the pre-conditions you specified did not hold.")
		}
	} else if n != 0 {
		return refuse(412, "conditionNotMet", "At least one of the pre-conditions you specified did not hold.")
	}
	return nil
}

// store puts an object under a condition, and describes it.
func (s *Server) store(w http.ResponseWriter, q url.Values, objects map[string]*stored, key string, b []byte) error {
	if len(key) == 0 || len(key) > 1024 {
		return refuse(400, "invalid", "The name of an object has 1 to 1024 bytes.")
	}
	if err := holds(q, objects[key]); err != nil {
		return err
	}
	s.last++
	o := &stored{b: b, generation: s.last, created: time.Now().UTC()}
	objects[key] = o
	return reply(w, describe(key, o))
}

func describe(key string, o *stored) map[string]any {
	return map[string]any{"kind": "storage#object", "name": key, "generation": strconv.FormatInt(o.generation, 10),
		"size": strconv.Itoa(len(o.b)), "crc32c": sumOf(o.b), "timeCreated": o.created.Format(time.RFC3339Nano)}
}

func reply(w http.ResponseWriter, v any) error {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	return json.NewEncoder(w).Encode(v)
}

// insert puts an object whose description and bytes come in one request.
func (s *Server) insert(w http.ResponseWriter, r *http.Request, objects map[string]*stored, body []byte) error {
	kind, with, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/related" || r.URL.Query().Get("uploadType") != "multipart" {
		return refuse(400, "invalid", "Bad request: want uploadType=multipart and multipart/related.")
	}
	var parts [][]byte
	for m := multipart.NewReader(bytes.NewReader(body), with["boundary"]); ; {
		p, err := m.NextPart()
		if err == io.EOF {
			break
		}
		if err != nil {
			return refuse(400, "invalid", "Malformed multipart body.")
		}
		b, err := io.ReadAll(p)
		if err != nil {
			return refuse(400, "invalid", "Malformed multipart body.")
		}
		parts = append(parts, b)
	}
	var said struct{ Name, CRC32C string }
	if len(parts) != 2 || json.Unmarshal(parts[0], &said) != nil {
		return refuse(400, "invalid", "Malformed multipart body.")
	}
	if found := sumOf(parts[1]); said.CRC32C != "" && said.CRC32C != found {
		return refuse(400, "invalid", "Provided CRC32C %q doesn't match calculated CRC32C %q.", said.CRC32C, found)
	}
	return s.store(w, r.URL.Query(), objects, said.Name, parts[1])
}

// compose makes an object of 1 to 32 others.
func (s *Server) compose(
	w http.ResponseWriter, q url.Values, objects map[string]*stored, key string, body []byte,
) error {
	var said struct {
		SourceObjects []struct{ Name, Generation string }
	}
	if json.Unmarshal(body, &said) != nil || len(said.SourceObjects) == 0 {
		return refuse(400, "required", "You must provide at least one source component.")
	}
	if n := len(said.SourceObjects); n > 32 {
		return refuse(400, "invalid", "The number of source components provided (%d) exceeds the maximum (32).", n)
	}
	whole := []byte{}
	for _, from := range said.SourceObjects {
		o := objects[from.Name]
		if o == nil || from.Generation != "" && from.Generation != strconv.FormatInt(o.generation, 10) {
			return refuse(404, "notFound", "Object %s (generation: %s) not found.", from.Name, from.Generation)
		}
		whole = append(whole, o.b...)
	}
	return s.store(w, q, objects, key, whole)
}

// get answers with the description of an object, or with its bytes (alt=media).
func get(w http.ResponseWriter, r *http.Request, bucket string, objects map[string]*stored, key string) error {
	q, o := r.URL.Query(), objects[key]
	if o == nil {
		return refuse(404, "notFound", "No such object: %s/%s", bucket, key)
	}
	if err := holds(q, o); err != nil {
		return err
	}
	if q.Get("alt") != "media" {
		return reply(w, describe(key, o))
	}
	return media(w, r, o)
}

// readXML answers as the XML API does, which says when the object was put.
func (s *Server) readXML(w http.ResponseWriter, r *http.Request, bucket, key string) error {
	objects, ok := s.buckets[bucket]
	switch {
	case r.Method != http.MethodGet:
		return refuse(405, "MethodNotAllowed", "The specified method is not allowed.")
	case !ok:
		return refuse(404, "NoSuchBucket", "The specified bucket does not exist.")
	case objects[key] == nil:
		return refuse(404, "NoSuchKey", "The specified key does not exist.")
	}
	w.Header().Set("Last-Modified", objects[key].created.Format(http.TimeFormat))
	return media(w, r, objects[key])
}

// media answers with the bytes of an object, or with a range of its bytes.
func media(w http.ResponseWriter, r *http.Request, o *stored) error {
	b, status := o.b, http.StatusOK
	if asked := r.Header.Get("Range"); asked != "" {
		var from, to int
		if n, err := fmt.Sscanf(asked, "bytes=%d-%d", &from, &to); n != 2 || err != nil || from > to {
			return refuse(400, "invalid", "The range %s is not one that this server knows.", asked)
		}
		if from >= len(b) {
			return refuse(416, "requestedRangeNotSatisfiable", "Request range not satisfiable")
		}
		to = min(to, len(b)-1)
		w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, to, len(b)))
		b, status = b[from:to+1], http.StatusPartialContent
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	w.Header().Set("X-Goog-Generation", strconv.FormatInt(o.generation, 10))
	w.WriteHeader(status)
	_, err := w.Write(b)
	return err
}

func remove(w http.ResponseWriter, q url.Values, bucket string, objects map[string]*stored, key string) error {
	o := objects[key]
	if o == nil {
		return refuse(404, "notFound", "No such object: %s/%s", bucket, key)
	}
	if err := holds(q, o); err != nil {
		return err
	}
	delete(objects, key)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// list answers with a page of keys and common beginnings.
func list(w http.ResponseWriter, q url.Values, objects map[string]*stored) error {
	most := 1000
	if n, err := strconv.Atoi(q.Get("maxResults")); err == nil && n > 0 {
		most = min(most, n)
	}
	prefix, delimiter, after := q.Get("prefix"), q.Get("delimiter"), q.Get("pageToken")
	items, beginnings, last := []any{}, []string{}, ""
	out := map[string]any{"kind": "storage#objects"}
	for _, key := range slices.Sorted(maps.Keys(objects)) {
		if !strings.HasPrefix(key, prefix) {
			continue
		}
		name, common := key, false
		if delimiter != "" {
			if at := strings.Index(key[len(prefix):], delimiter); at >= 0 {
				name, common = key[:len(prefix)+at+len(delimiter)], true
			}
		}
		if name <= after && after != "" || common && name == last {
			continue
		}
		if len(items)+len(beginnings) == most {
			out["nextPageToken"] = last
			break
		}
		if last = name; common {
			beginnings = append(beginnings, name)
		} else {
			items = append(items, describe(key, objects[key]))
		}
	}
	if len(items) > 0 {
		out["items"] = items
	}
	if len(beginnings) > 0 {
		out["prefixes"] = beginnings
	}
	return reply(w, out)
}
