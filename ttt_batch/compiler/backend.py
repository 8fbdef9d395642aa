"""Numba's side of `jit`: dispatchers, libraries, and the LLVM code of `bits` and `intrinsics`.

`jit` imports this module, and with it Numba, when a kernel is called for the first time.
"""

import gc
import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numba
from llvmlite import ir
from llvmlite.binding.ffi import ObjectRef
from numba import types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.runtime import rtsys
from numba.extending import lower_builtin, models, overload, register_model, type_callable, typeof_impl

from ttt_batch.compiler.kernel_cache import KernelCache
from ttt_batch.compiler.settings import compiling

# _nrt=False: kernels allocate nothing, and counting references in calls with NamedTuples of arrays is ~3x slower.
# error_model="numpy": no zero-division branch in the loops.  fastmath stays off: reassociated sums would differ
# between processors.  no_cfunc_wrapper=True: no kernel is called by its address.
OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": False,
    "boundscheck": False,
    "_nrt": False,
    "no_cfunc_wrapper": True,
}


class LinkedLibrary(JITCodeLibrary):  # type: ignore[misc]
    """LLVM code of a function that only kernels call.

    Numba optimises each library and makes it machine code.  Both are done for the kernels that link this one, so here
    they would be done in vain: that is a quarter of the time of a first run.
    """

    def add_linking_library(self, library: Any) -> None:
        """Link the code of a function that this one calls; each kernel links Numba's runtime itself."""
        if library is not rtsys.library:
            super().add_linking_library(library)

    def _optimize_final_module(self) -> None:
        """Leave the code as it is."""

    def _finalize_final_module(self) -> None:
        """Make no machine code; note which addresses the code holds, as Numba does, for the cache."""
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """Return 0: no function has machine code here."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> "LinkedLibrary":
        """Return this library, which Numba asks for it only to call `set_env`."""
        return self

    def set_env(self, *_: Any) -> None:
        """Set nothing: an environment serves machine code that makes Python's objects."""


class LinkingCompiler(Compiler):  # type: ignore[misc]
    """Numba's compiler, with a `LinkedLibrary` for each function."""

    def define_pipelines(self) -> Any:
        """Return Numba's passes, which fill the library that is set here."""
        self.state.library = LinkedLibrary(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
        return super().define_pipelines()


UNCALLED = OPTIONS | {"no_cpython_wrapper": True}
"""Options for functions that Python does not call: no wrapper for it."""

WITHIN_KERNELS = UNCALLED | {"pipeline_class": LinkingCompiler}
"""Options for functions that only kernels call: no machine code of their own, either."""


def _never_free_modules() -> None:
    """Keep all current LLVM objects until the process ends.

    An interrupt may arrive after LLVM has taken ownership of a module and before llvmlite has recorded that.  The
    module would then be freed twice, which crashed one process in thirty.
    """
    for one in gc.get_objects():
        if issubclass(type(one), ObjectRef):
            one._owned = True


def _emit_lowest_bit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
    return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))


def _emit_shift(method: str) -> Callable[[Any, Any, Any, Any], Any]:
    """Return an emitter of a shift by a number of any width.  method: that of LLVM's builder."""

    def emit(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        word, distance = arguments
        if distance.type.width > word.type.width:
            distance = builder.trunc(distance, word.type)
        elif distance.type.width < word.type.width:
            distance = builder.zext(distance, word.type)
        return getattr(builder, method)(word, distance)

    return emit


def _emit_parity(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
    count = builder.ctpop(arguments[0])
    return builder.and_(builder.trunc(count, ir.IntType(8)), ir.Constant(ir.IntType(8), 1))


def _store(builder: Any, data: Any, start: Any, bits: Any, lanes: int) -> None:
    """Emit LLVM code that stores the bits of a word as bytes from `start` on."""
    vector = builder.bitcast(bits, ir.VectorType(ir.IntType(1), lanes))
    wide = builder.zext(vector, ir.VectorType(ir.IntType(8), lanes))
    place = builder.bitcast(builder.gep(data, [start]), wide.type.as_pointer())
    builder.store(wide, place, align=1)


def _emit_unpack(context: Any, builder: Any, signature: Any, arguments: Any, lanes: int) -> Any:
    data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
    _store(builder, data, arguments[1], arguments[2], lanes)
    return context.get_dummy_value()


def _emit_unpack_rows(context: Any, builder: Any, signature: Any, arguments: Any, lanes: int, rows: int) -> Any:
    ruler, columns = signature.args[0], signature.args[3]
    width, long = ruler.dtype.count, ir.IntType(64)
    data = context.make_array(signature.args[1])(context, builder, arguments[1]).data
    start, row, tuple_ = arguments[2], arguments[4], arguments[3]
    arrays = [
        context.make_array(columns.dtype)(context, builder, builder.extract_value(tuple_, index)).data
        for index in range(columns.count)
    ]
    bits, place = ir.Constant(long, 0), 0
    for number in range(rows * len(arrays)):
        at, column = divmod(number, len(arrays))
        index = builder.add(row, ir.Constant(row.type, at))
        word = builder.zext(builder.load(builder.gep(arrays[column], [index])), long)
        low = number * width - place
        bits = builder.or_(bits, builder.shl(word, ir.Constant(long, low)))
        left = low + width - lanes
        if left >= 0:  # 64 bits are complete; the rest of this word starts the next 64
            _store(builder, data, builder.add(start, ir.Constant(long, place)), bits, lanes)
            place += lanes
            bits = builder.lshr(word, ir.Constant(long, width - left)) if left else ir.Constant(long, 0)
    return context.get_dummy_value()


def _some(builder: Any, vector: Any, lanes: Sequence[int]) -> Any:
    """Return these lanes of a vector."""
    order = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), list(lanes))
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), order)


def _repeated(builder: Any, number: Any, lanes: int) -> Any:
    """Return a vector with a number (float64) in every lane."""
    undefined = ir.Constant(ir.VectorType(ir.DoubleType(), lanes), ir.Undefined)
    return _some(builder, builder.insert_element(undefined, number, ir.Constant(ir.IntType(32), 0)), [0] * lanes)


def _address(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    """Return the address of the entry of an array, the first two arguments."""
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.gep(array.data, [arguments[1]])


def _numbers(context: Any, builder: Any, signature: Any, arguments: Any, lanes: int) -> Any:
    """Return the address of the `lanes` entries from `_address` on."""
    place = _address(context, builder, signature, arguments)
    return builder.bitcast(place, ir.VectorType(ir.DoubleType(), lanes).as_pointer())


def _emit_mask_above(context: Any, builder: Any, signature: Any, arguments: Any, lanes: int) -> Any:
    eight = builder.load(_numbers(context, builder, signature, arguments, lanes), align=8)
    above = builder.fcmp_ordered(">", eight, _repeated(builder, arguments[2], lanes))
    return builder.zext(builder.bitcast(above, ir.IntType(lanes)), ir.IntType(64))


def _emit_masked_max(context: Any, builder: Any, signature: Any, arguments: Any, lanes: int) -> Any:
    left = builder.load(_numbers(context, builder, signature, arguments, lanes), align=8)
    chosen = builder.bitcast(builder.trunc(arguments[2], ir.IntType(lanes)), ir.VectorType(ir.IntType(1), lanes))
    left = builder.select(chosen, left, ir.Constant(left.type, [float("-inf")] * lanes))
    while left.type.count > 1:  # compare the two halves
        half = left.type.count // 2
        one, other = _some(builder, left, range(half)), _some(builder, left, range(half, 2 * half))
        left = builder.select(builder.fcmp_ordered(">", one, other), one, other)
    return builder.extract_element(left, ir.Constant(ir.IntType(32), 0))


class _Four(types.Type):  # type: ignore[misc]
    """Numba type of four float64 in a register; without the JIT they are an array."""

    def __init__(self) -> None:
        super().__init__("Four")


@register_model(_Four)
class _FourModel(models.PrimitiveModel):  # type: ignore[misc]
    """Data model of `_Four`: a vector of four doubles."""

    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, ir.VectorType(ir.DoubleType(), 4))


_four = _Four()


def _emit_load_four(context: Any, builder: Any, signature: Any, arguments: Any, lanes: int) -> Any:
    return builder.load(_numbers(context, builder, signature, arguments, lanes), align=8)


def _emit_store_four(context: Any, builder: Any, signature: Any, arguments: Any, lanes: int) -> Any:
    builder.store(arguments[2], _numbers(context, builder, signature, arguments, lanes), align=8)
    return context.get_dummy_value()


def _emit_divide_four(_context: Any, builder: Any, _signature: Any, arguments: Any, lanes: int) -> Any:
    return builder.fdiv(arguments[0], _repeated(builder, arguments[1], lanes))


def _emit_claim(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.atomic_rmw("add", array.data, arguments[1], "acq_rel")


def _emit_swap(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    place = _address(context, builder, signature, arguments)
    return builder.extract_value(builder.cmpxchg(place, arguments[2], arguments[3], "seq_cst", "seq_cst"), 0)


def _emit_read(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    return builder.load_atomic(_address(context, builder, signature, arguments), "acquire", 8)


def _emit_write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    builder.store_atomic(arguments[2], _address(context, builder, signature, arguments), "release", 8)
    return context.get_dummy_value()


def _emit_array_at(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    array.data = builder.inttoptr(arguments[1], array.data.type)
    return array._getvalue()


def _emit_yield(context: Any, builder: Any, _signature: Any, _arguments: Any) -> Any:
    if sys.platform != "win32":  # its C library has no such function
        kind = ir.FunctionType(ir.IntType(32), [])
        builder.call(numba.core.cgutils.get_or_insert_function(builder.module, kind, "sched_yield"), [])
    return context.get_dummy_value()


def _emit_prefetch(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
    kind = ir.FunctionType(ir.VoidType(), [pointer, number, number, number])
    fetch = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
    place = builder.bitcast(_address(context, builder, signature, arguments), pointer)
    reading, kept, data = (ir.Constant(number, value) for value in (0, 3, 1))
    builder.call(fetch, [place, reading, kept, data])
    return context.get_dummy_value()


_INT, _WORD, _FLOAT, _GIVEN = types.int64, types.uint64, types.float64, None

INSTRUCTIONS: dict[str, tuple[Any, ...]] = {
    "popcount": (lambda _context, builder, _signature, arguments: builder.ctpop(arguments[0]), _INT, _WORD),
    "lowest_bit": (_emit_lowest_bit, _INT, _WORD),
    "shift_left": (_emit_shift("shl"), _GIVEN, _GIVEN, _GIVEN),
    "shift_right": (_emit_shift("lshr"), _GIVEN, _GIVEN, _GIVEN),
    "intersection": (lambda _context, builder, _signature, arguments: builder.and_(*arguments), _GIVEN, _GIVEN, _GIVEN),
    "parity": (_emit_parity, types.uint8, _GIVEN),
    "unpack_bits": (_emit_unpack, types.void, _GIVEN, _WORD, _WORD),
    "unpack_rows": (_emit_unpack_rows, types.void, _GIVEN, _GIVEN, _WORD, _GIVEN, types.intp),
    "mask_above": (_emit_mask_above, _WORD, _GIVEN, _WORD, _FLOAT),
    "masked_max": (_emit_masked_max, _FLOAT, _GIVEN, _WORD, _WORD),
    "load_four": (_emit_load_four, _four, _GIVEN, _WORD),
    "store_four": (_emit_store_four, types.void, _GIVEN, _WORD, _four),
    "add_fours": (lambda _context, builder, _signature, arguments: builder.fadd(*arguments), _four, _four, _four),
    "divide_four": (_emit_divide_four, _four, _four, _FLOAT),
    "claim": (_emit_claim, _INT, _GIVEN, _INT),
    "compare_and_swap": (_emit_swap, _WORD, _GIVEN, _WORD, _WORD, _WORD),
    "read_word": (_emit_read, _WORD, _GIVEN, _WORD),
    "write_word": (_emit_write, types.void, _GIVEN, _WORD, _WORD),
    "array_at": (_emit_array_at, _GIVEN, _GIVEN, _WORD),
    "yield_processor": (_emit_yield, types.void),
    "prefetch_word": (_emit_prefetch, types.void, _GIVEN, _WORD),
}
"""Functions of `bits` and `intrinsics`: an emitter, the type of the result, and those of the arguments.

An emitter takes Numba's context, LLVM's builder, the signature, the arguments and the sizes given to `jit.instruction`.
_GIVEN: the type of the argument as it is; of a result, that of the first argument.
"""


def add_instruction(function: Callable[..., Any], sizes: tuple[int, ...]) -> None:
    """Let kernels call a function of `INSTRUCTIONS`."""
    emit, result, *kinds = INSTRUCTIONS[function.__name__]

    def typed(*given: Any) -> Any:
        return (result or given[0])(*(kind or own for kind, own in zip(kinds, given, strict=True)))

    typed.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    type_callable(function)(lambda _context: typed)
    lower_builtin(function, types.VarArg(types.Any))(lambda *given: emit(*given, *sizes))


def make_kernel(function: Callable[..., Any]) -> Any:
    """Return the dispatcher of a function that Python calls, cached on disk."""
    dispatcher = numba.njit(**OPTIONS)(function)
    dispatcher._cache = KernelCache(function)
    # Kernels that call it compile it among their own code; only a call from Python needs its machine code.
    linked = numba.njit(**WITHIN_KERNELS)(function)
    dispatcher.get_call_template, dispatcher.get_overload = linked.get_call_template, linked.get_overload
    compile_signature = dispatcher.compile

    def compile_or_forget(signature: Any) -> Any:
        """Compile with Numba; after an interrupt (Ctrl-C) clear `compiling` and keep the LLVM objects."""
        try:
            return compile_signature(signature)
        except BaseException as error:
            compiling.clear()
            if not isinstance(error, Exception):
                _never_free_modules()
            raise

    dispatcher.compile = compile_or_forget
    return dispatcher


def make_part(function: Callable[..., Any], *, optimized: bool) -> Any:
    """Return the dispatcher of a function that only kernels call.  optimized: alone, before it is inlined."""
    return numba.njit(forceinline=True, **(UNCALLED if optimized else WITHIN_KERNELS))(function)


def add_deferred(cls: type) -> None:
    """Let kernels call instances of a class by their `dispatcher`."""
    typeof_impl.register(cls)(lambda deferred, context: typeof_impl(deferred.dispatcher, context))


def add_generic(chooser: Any, *, inline: bool) -> None:
    """Let kernels call a `GenericKernel`."""

    @overload(  # type: ignore[untyped-decorator]
        chooser, strict=False, inline="never", jit_options=WITHIN_KERNELS | {"forceinline": inline}
    )
    def typed(first: Any, *rest: Any) -> Callable[..., Any] | None:
        return chooser.body(getattr(first, "instance_class", None))  # type: ignore[no-any-return]
