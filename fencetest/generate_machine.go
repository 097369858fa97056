package fencetest

import (
	"pgregory.net/rapid"

	"github.com/fencesim/fencesim/model"
)

// Machines draws machines near the default: half change only when the CPU sees the GPU's
// stores, a quarter are presets, and a quarter change any parameters.
func Machines() *rapid.Generator[model.Machine] {
	return rapid.Custom(func(t *rapid.T) model.Machine {
		switch between(t, "kind of machine", 0, 3) {
		case 0, 1:
			return model.Machine{GPUToCPU: visibility(t)}
		case 2:
			return rapid.SampledFrom(model.Presets).Draw(t, "preset").Machine
		}
		return anyMachine(t)
	})
}

// visibility draws when the CPU sees the GPU's stores, a lag of few buffers most often.
func visibility(t *rapid.T) model.Visibility {
	switch between(t, "visibility", 0, 9) {
	case 0, 1:
		return model.Visibility{}
	case 2:
		return model.Visibility{Mode: model.VisUnordered}
	case 3:
		return model.Visibility{Mode: model.VisUnreliable}
	}
	return model.Visibility{Mode: model.VisLag, Buffers: pick(t, "lag", 0, 0, 1, 1, 2, 3)}
}

// anyMachine draws every parameter, each of which departs from its default rarely.
func anyMachine(t *rapid.T) model.Machine {
	m := model.Machine{GPUToCPU: visibility(t)}
	if one(t, "cpu_to_gpu", 8) {
		m.CPUToGPU = model.Visibility{Mode: model.VisUnreliable}
	}
	if one(t, "overlap", 3) {
		m.Buffers = model.Overlap
		m.Tracking = pick(t, "tracking", model.TrackAll, model.TrackArrays, model.TrackNone)
		m.LookAhead = pick(t, "look_ahead", 0, 0, 1, 2)
	}
	if one(t, "concurrent", 5) {
		m.Dispatch = model.Concurrent
	}
	if one(t, "exclusive", 6) {
		m.Device = model.Exclusive
	}
	if one(t, "slots", 4) {
		m.Slots = pick(t, "number of slots", 1, 1, 2)
	}
	if one(t, "in_flight", 5) {
		m.InFlight = pick(t, "limit in flight", 1, 2, 3)
	}
	m.Store = pick(t, "store", "", "", model.StoreGuarded, model.StoreMax)
	if one(t, "spin_limit", 10) {
		m.SpinLimit = 1
	}
	if one(t, "watchdog", 6) {
		m.Watchdog = pick(t, "dog", model.WatchdogMay, model.WatchdogMust, model.WatchdogAny)
		if one(t, "ignore", 3) {
			m.AfterKill = model.Ignore
		}
	}
	if one(t, "payload", 6) {
		m.Payload = model.PayloadCoherent
	}
	if one(t, "buffered", 3) {
		m.Transport.Buffered = pick(t, "buffer", 1, 2)
	}
	return m
}
