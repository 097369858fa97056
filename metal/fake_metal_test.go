package metal

import (
	"strings"
	"unsafe"
)

// answer answers a message to a living object of the right class.
func (f *fake) answer(to object, o *fakeObject, m message, args []any) reply {
	switch m {
	case msgInit:
		if o.class == "NSAutoreleasePool" {
			f.pools = append(f.pools, to)
		}
		return word(to)
	case msgRetain:
		o.refs++
		return word(to)
	case msgRelease:
		f.release(to)
	case msgResponds:
		if !f.lacks[selectors[args[0].(message)].name] {
			return reply{word: 0xabcd01} // BOOL is the low byte, the rest is anything
		}
		return reply{word: 0xabcd00}
	case msgDrain:
		if len(f.pools) == 0 || f.pools[len(f.pools)-1] != to {
			f.refusal("a pool is drained that is not the innermost")
			break
		}
		f.pools = f.pools[:len(f.pools)-1]
		for _, id := range o.pool {
			f.release(id)
		}
		o.pool = nil
		f.release(to)
	case msgUTF8String:
		return reply{word: uintptr(unsafe.Pointer(&o.text[0]))}
	case msgErrorDomain:
		return word(f.string(o.domain))
	case msgErrorCode:
		return word(o.value)
	case msgErrorText:
		return word(f.string(string(o.text)))
	case msgOSVersion:
		return reply{version: Version{15, 3, 1}}
	default:
		switch selectors[m].receiver {
		case "MTLDevice":
			return f.deviceAnswer(m, args)
		case "MTLCommandQueue":
			return word(f.autoreleased(f.create("MTLCommandBuffer", fakeObject{
				times: map[message]float64{msgGPUStart: 1.5, msgGPUEnd: 1.75}})))
		case "MTLCommandBuffer":
			return f.bufferAnswer(to, o, m, args)
		case "MTLComputeCommandEncoder", "MTLCommandEncoder":
			f.encoderAnswer(o, m, args)
			return reply{}
		}
		return f.memoryAnswer(o, m, args)
	}
	return reply{}
}

func (f *fake) deviceAnswer(m message, args []any) reply {
	switch m {
	case msgDeviceName:
		return word(f.string("Fake M1"))
	case msgRegistryID:
		return word(uint64(0x100000abc))
	case msgUnifiedMemory:
		return reply{word: 0xff01}
	case msgWorkingSet:
		return word(uint64(10 << 30))
	case msgMaxBuffer:
		return word(uint64(5 << 30))
	case msgSupportsFamily:
		return reply{word: 0xff01}
	case msgSampleClocks:
		*(*uint64)(args[0].(unsafe.Pointer)), *(*uint64)(args[1].(unsafe.Pointer)) = 7, 11
	case msgNewQueue, msgNewQueueLimit:
		return word(f.create("MTLCommandQueue", fakeObject{}))
	case msgNewBuffer:
		return word(f.create("MTLBuffer", fakeObject{words: make([]uint32, args[0].(uint64)/4)}))
	case msgNewFence:
		return word(f.create("MTLFence", fakeObject{}))
	case msgNewEvent:
		return word(f.create("MTLSharedEvent", fakeObject{}))
	case msgNewLibrary:
		source := f.objects[args[0].(object)].text
		f.library = string(source[:len(source)-1])
		if strings.Contains(f.library, "error") {
			failure := f.autoreleased(f.create("NSError", fakeObject{value: 3, domain: "MTLLibraryErrorDomain", text: []byte("program_source:1:1: error")}))
			*(*object)(args[2].(unsafe.Pointer)) = failure
			return reply{}
		}
		f.lang = f.objects[args[1].(object)].value
		return word(f.create("MTLLibrary", fakeObject{source: f.library}))
	case msgNewPipeline:
		return word(f.create("MTLComputePipelineState", fakeObject{}))
	}
	return reply{}
}

func (f *fake) bufferAnswer(to object, o *fakeObject, m message, args []any) reply {
	if m != msgStatus && m != msgError && m != msgGPUStart && m != msgGPUEnd && o.status >= Committed {
		f.refusal("%s on a committed buffer", selectors[m].name)
	}
	switch m {
	case msgComputeEncoder:
		if o.encoder != 0 {
			f.refusal("a second encoder is opened")
		}
		o.encoder = f.create("MTLComputeCommandEncoder", fakeObject{buffer: to})
		return word(f.autoreleased(o.encoder))
	case msgSignalEvent, msgWaitEvent:
		if o.encoder != 0 {
			f.refusal("an event while an encoder is open")
		}
		f.hold(o, args[0].(object))
	case msgOnCompleted:
		o.handlers = append(o.handlers, args[0].(object))
		f.objects[args[0].(object)].refs++
	case msgEnqueue:
		o.status = Enqueued
	case msgCommit:
		if o.encoder != 0 {
			f.refusal("commit while an encoder is open")
		}
		o.status = Committed
		o.refs++ // Metal's own, until it has finished
	case msgStatus:
		return word(uint64(o.status))
	case msgError:
		return word(o.failure)
	case msgGPUStart, msgGPUEnd:
		return reply{double: o.times[m]}
	}
	return reply{}
}

// hold is a command buffer's reference to what its commands use.
func (f *fake) hold(buffer *fakeObject, id object) {
	if f.objects[id] == nil || f.objects[id].refs == 0 {
		f.refusal("a freed object is encoded")
		return
	}
	f.objects[id].refs++
	buffer.held = append(buffer.held, id)
}

func (f *fake) encoderAnswer(o *fakeObject, m message, args []any) {
	buffer := f.objects[o.buffer]
	if o.ended {
		f.refusal("%s to an ended encoder", selectors[m].name)
	}
	switch m {
	case msgEndEncoding:
		o.ended, buffer.encoder = true, 0
	case msgSetPipeline:
		o.pipeline = true
		f.hold(buffer, args[0].(object))
	case msgSetBuffer:
		f.hold(buffer, args[0].(object))
		if n := len(f.objects[args[0].(object)].words); args[1].(uint64) >= uint64(n)*4 || args[2].(uint64) > 30 {
			f.refusal("setBuffer at byte %d of %d, index %d", args[1], n*4, args[2])
		}
	case msgSetBytes:
		if args[1].(uint64) > 4096 || args[1].(uint64) == 0 || args[2].(uint64) > 30 {
			f.refusal("setBytes of %d bytes, index %d", args[1], args[2])
		}
	case msgDispatch:
		groups, threads := args[0].(Size), args[1].(Size)
		if !o.pipeline || groups.Width*groups.Height*groups.Depth == 0 || threads.Width*threads.Height*threads.Depth-1 >= 1024 {
			f.refusal("dispatch of %v groups of %v threads, pipeline %v", groups, threads, o.pipeline)
		}
	case msgUpdateFence, msgWaitFence:
		f.hold(buffer, args[0].(object))
	}
}

// memoryAnswer answers for buffers, events, libraries and pipelines.
func (f *fake) memoryAnswer(o *fakeObject, m message, args []any) reply {
	switch m {
	case msgContents:
		return reply{word: uintptr(unsafe.Pointer(&o.words[0]))}
	case msgLength:
		return word(len(o.words) * 4)
	case msgSignaledValue:
		return word(o.value)
	case msgSetSignaledValue, msgSetLanguage:
		o.value = args[0].(uint64)
	case msgNewFunction:
		name := f.objects[args[0].(object)].text
		if strings.Contains(o.source, "kernel void "+string(name[:len(name)-1])+"(") {
			return word(f.create("MTLFunction", fakeObject{}))
		}
	case msgMaxThreads:
		return word(1024)
	case msgThreadWidth:
		return word(32)
	}
	return reply{}
}
