package mesh

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/tensor"
)

// document is a sharding of JAX, as Orbax writes it into _sharding.
type document struct {
	Kind   string            `json:"sharding_type"`
	Shape  []int             `json:"shape"`
	Axes   []string          `json:"axis_names"`
	Spec   []json.RawMessage `json:"partition_spec"`
	Device struct {
		Mesh json.RawMessage `json:"mesh"`
	} `json:"device_mesh"`
}

// FromSharding returns the mesh and the Spec of a sharding that Orbax wrote: the text of
// checkpoint.LeafInfo.Sharding. The processes of the mesh are the devices. An array on a single
// device has a mesh without axes. The error is of kind errs.Corrupt for a text that Orbax does not
// write, and errs.Unsupported for shardings of other types.
func FromSharding(text string) (Mesh, Spec, error) {
	const op = "mesh.FromSharding"
	wrong := func(want string, err error) (Mesh, Spec, error) {
		return Mesh{}, nil, &errs.Error{Kind: errs.Corrupt, Op: op, Want: want, Got: cut(text), Err: err}
	}
	var d document
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		return wrong("a JSON object with the sharding of an array", err)
	}
	switch d.Kind {
	case "SingleDeviceSharding":
		return Mesh{}, nil, nil
	case "NamedSharding":
	default:
		return Mesh{}, nil, &errs.Error{Kind: errs.Unsupported, Op: op, Want: "NamedSharding or SingleDeviceSharding",
			Got: strconv.Quote(d.Kind)}
	}
	m := Mesh{Axes: d.Axes, Sizes: d.Shape}
	if err := m.Validate(); err != nil {
		return wrong("a mesh with a size for each axis", err)
	}
	var s Spec
	for _, raw := range d.Spec {
		var one *string
		var several []string
		if json.Unmarshal(raw, &one) == nil {
			if one != nil {
				several = []string{*one}
			}
		} else if json.Unmarshal(raw, &several) != nil {
			return wrong("a partition_spec of names and lists of names", nil)
		}
		s = append(s, several)
	}
	if _, err := m.box(s, make(tensor.Shape, len(s)), 0); err != nil {
		return wrong("a partition_spec of axes of the mesh", err)
	}
	if len(d.Device.Mesh) > 0 {
		ids, ok := devices(nil, d.Device.Mesh)
		if !ok || len(ids) != m.Len() {
			return wrong("a device_mesh of "+strconv.Itoa(m.Len())+" devices", nil)
		}
		if !slices.Equal(ids, count(len(ids))) {
			m.Devices = ids
		}
	}
	return m, s, nil
}

// devices appends the numbers of nested lists of {"id": N}.
func devices(ids []int, raw json.RawMessage) (all []int, ok bool) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		var device struct{ ID *int }
		if json.Unmarshal(raw, &device) != nil || device.ID == nil {
			return nil, false
		}
		return append(ids, *device.ID), true
	}
	for _, r := range list {
		if ids, ok = devices(ids, r); !ok {
			return nil, false
		}
	}
	return ids, true
}

func count(n int) []int {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = i
	}
	return ids
}

// Sharding returns the sharding of an array as Orbax writes it, for checkpoint.Shards.Sharding. JAX
// cuts only axes whose size is a multiple of the number of parts: for other shapes the error is of
// kind errs.Unsupported.
func (m Mesh) Sharding(s Spec, shape tensor.Shape) (string, error) {
	const op = "mesh.Sharding"
	err := m.Validate()
	if err == nil {
		_, err = m.box(s, shape, 0)
	}
	if err != nil {
		return "", errs.Wrap(op, "", err)
	}
	ids := m.Devices
	if ids == nil {
		ids = count(m.Len())
	}
	for i, axes := range s {
		parts := 1
		for _, axis := range axes {
			parts *= m.Sizes[slices.Index(m.Axes, axis)]
		}
		if shape[i]%parts != 0 {
			return "", &errs.Error{Kind: errs.Unsupported, Op: op, Subject: "axis " + strconv.Itoa(i),
				Want: "a multiple of " + strconv.Itoa(parts) + " elements, for its sharding", Got: strconv.Itoa(shape[i]),
				Remedy: "leave Layout.JAX unset: the array is then saved without a sharding"}
		}
	}
	b := []byte(`{"sharding_type": "NamedSharding", "shape": `)
	b = appendList(b, m.Sizes, func(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) })
	b = append(b, `, "axis_names": `...)
	b = appendList(b, m.Axes, appendText)
	b = append(b, `, "axis_types": `...)
	b = appendList(b, m.Axes, func(b []byte, _ string) []byte { return append(b, `"AxisType.Auto"`...) })
	b = append(b, `, "partition_spec": `...)
	b = appendList(b, append(slices.Clone(s), make(Spec, len(shape)-len(s))...), func(b []byte, axes []string) []byte {
		switch len(axes) {
		case 0:
			return append(b, "null"...)
		case 1:
			return appendText(b, axes[0])
		}
		return appendList(b, axes, appendText)
	})
	b = append(b, `, "device_mesh": {"mesh": `...)
	b, _ = appendDevices(b, m.Sizes, ids)
	return string(append(b, "}}"...)), nil
}

// appendDevices appends nested lists of devices, and returns the devices that are left.
func appendDevices(b []byte, sizes, ids []int) ([]byte, []int) {
	if len(sizes) == 0 {
		b = append(b, `{"id": `...)
		return append(strconv.AppendInt(b, int64(ids[0]), 10), '}'), ids[1:]
	}
	b = append(b, '[')
	for i := range sizes[0] {
		if i > 0 {
			b = append(b, ", "...)
		}
		b, ids = appendDevices(b, sizes[1:], ids)
	}
	return append(b, ']'), ids
}

// appendList appends a list with the spaces of Python's json.
func appendList[T any](b []byte, list []T, one func([]byte, T) []byte) []byte {
	b = append(b, '[')
	for i, x := range list {
		if i > 0 {
			b = append(b, ", "...)
		}
		b = one(b, x)
	}
	return append(b, ']')
}

func appendText(b []byte, s string) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string can always be written
	return append(b, bytes.TrimSuffix(out.Bytes(), []byte{'\n'})...)
}

// cut returns the beginning of a text for a message.
func cut(s string) string {
	if len(s) > 80 {
		s = s[:80] + "…"
	}
	return strconv.Quote(s)
}
