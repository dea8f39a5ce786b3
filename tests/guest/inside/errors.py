# SPDX-License-Identifier: GPL-2.0-or-later
"""Verbs that fail return an error number, and errno has it too.

The calls are those of libibverbs itself, as pyverbs hides either the number or errno.
"""
import ctypes
import errno
import ipaddress
from ctypes import POINTER, Structure, byref, c_int, c_uint8, c_uint32, c_uint64, c_void_p

LIBRARY = ctypes.CDLL('libibverbs.so.1', use_errno=True)
RC = 2                                  # IBV_QPT_RC
SRQ_MAX_WR = 1                          # IBV_SRQ_MAX_WR
# The places of functions in struct ibv_context_ops, which inline functions call.
POST_SRQ_RECV, POST_SEND, POST_RECV = 20, 25, 26
# The same of struct verbs_context, which ends with the context, counted from there.
ALLOC_PARENT_DOMAIN = -26


class SrqAttr(Structure):
    """struct ibv_srq_attr"""
    _fields_ = [('max_wr', c_uint32), ('max_sge', c_uint32), ('srq_limit', c_uint32)]


class SrqInitAttr(Structure):
    """struct ibv_srq_init_attr"""
    _fields_ = [('context', c_void_p), ('attr', SrqAttr)]


class QpInitAttr(Structure):
    """struct ibv_qp_init_attr"""
    _fields_ = [('context', c_void_p), ('send_cq', c_void_p), ('recv_cq', c_void_p),
                ('srq', c_void_p), ('cap', c_uint32 * 5), ('qp_type', c_int),
                ('sq_sig_all', c_int)]


class RecvWr(Structure):
    """struct ibv_recv_wr"""
    _fields_ = [('wr_id', c_uint64), ('next', c_void_p), ('sg_list', c_void_p),
                ('num_sge', c_int)]


class ParentInitAttr(Structure):
    """struct ibv_parent_domain_init_attr"""
    _fields_ = [('pd', c_void_p), ('td', c_void_p), ('comp_mask', c_uint32),
                ('alloc', c_void_p), ('free', c_void_p), ('pd_context', c_void_p)]


class AhAttr(Structure):
    """struct ibv_ah_attr"""
    _fields_ = [('dgid', c_uint8 * 16), ('flow_label', c_uint32),
                ('sgid_index', c_uint8), ('hop_limit', c_uint8),
                ('traffic_class', c_uint8), ('lid_and_rate', c_uint8 * 6),
                ('is_global', c_uint8), ('port_num', c_uint8)]


def call(name, *arguments):
    """A function of the library that returns a pointer, which is not NULL."""
    function = LIBRARY[name]
    function.restype = c_void_p
    found = function(*arguments)
    assert found, (name, ctypes.get_errno())
    return c_void_p(found)


def operation(ctx, place, *arguments):
    """A function of the provider: what an inline function of verbs.h calls."""
    address = ctypes.cast(ctx, POINTER(c_void_p))[1 + place]
    prototype = ctypes.CFUNCTYPE(c_int, *(c_void_p for _ in arguments), use_errno=True)
    return prototype(address)(*(ctypes.cast(argument, c_void_p)
                                for argument in arguments))


def fails(name, want, function, *arguments):
    ctypes.set_errno(0)
    returned = function(*arguments)
    assert (returned, ctypes.get_errno()) == (want, want), \
        f'{name} returns {returned}, errno {ctypes.get_errno()}; want {want} in both'


def open_device(name):
    count = c_int()
    devices = ctypes.cast(call('ibv_get_device_list', byref(count)), POINTER(c_void_p))
    get_name = LIBRARY.ibv_get_device_name
    get_name.restype = ctypes.c_char_p
    for n in range(count.value):
        if get_name(c_void_p(devices[n])).decode() == name:
            return call('ibv_open_device', c_void_p(devices[n]))
    raise AssertionError(f'no device {name}')


def check_numbers(rig):
    ctx = open_device(rig.ctx.name)
    pd = call('ibv_alloc_pd', ctx)
    cq = call('ibv_create_cq', ctx, 16, None, None, 0)
    srq = call('ibv_create_srq', pd, byref(SrqInitAttr(attr=SrqAttr(4, 1, 0))))
    qp = call('ibv_create_qp', pd, byref(QpInitAttr(
        send_cq=cq, recv_cq=cq, cap=(c_uint32 * 5)(4, 4, 1, 1, 0), qp_type=RC)))
    send, bad = (c_uint8 * 256)(), c_void_p()
    receive = RecvWr(num_sge=1000)
    # Objects of the domain are left; the kernel is not asked.
    fails('dealloc_pd', errno.EBUSY, LIBRARY.ibv_dealloc_pd, pd)
    fails('resize_cq', errno.EINVAL, LIBRARY.ibv_resize_cq, cq, 0)
    fails('resize_cq of too many', errno.EINVAL, LIBRARY.ibv_resize_cq, cq, 1 << 30)
    fails('modify_srq', errno.EINVAL, LIBRARY.ibv_modify_srq, srq,
          byref(SrqAttr(0, 1, 0)), SRQ_MAX_WR)
    fails('post_srq_recv', errno.EINVAL, operation, ctx, POST_SRQ_RECV, srq,
          byref(receive), byref(bad))
    # The queue pair is in Reset.
    fails('post_send', errno.EINVAL, operation, ctx, POST_SEND, qp, send, byref(bad))
    fails('post_recv', errno.EINVAL, operation, ctx, POST_RECV, qp, byref(receive),
          byref(bad))
    # The library and the kernel give the same.
    fails('destroy_cq', errno.EBUSY, LIBRARY.ibv_destroy_cq, cq)
    for name, what in (('qp', qp), ('srq', srq), ('cq', cq)):
        assert LIBRARY[f'ibv_destroy_{name}'](what) == 0, name
    assert LIBRARY.ibv_dealloc_pd(pd) == 0


def check_parent_domain(rig):
    """It stays as long as an address handle, which requests look up through it."""
    ctx = open_device(rig.ctx.name)
    pd = call('ibv_alloc_pd', ctx)
    alloc = ctypes.CFUNCTYPE(c_void_p, c_void_p, c_void_p)(
        ctypes.cast(ctx, POINTER(c_void_p))[ALLOC_PARENT_DOMAIN])
    parent = c_void_p(alloc(ctx, byref(ParentInitAttr(pd=pd.value))))
    assert parent
    ah = call('ibv_create_ah', parent, byref(AhAttr(
        dgid=(c_uint8 * 16)(*ipaddress.ip_address(str(rig.gid)).packed),
        sgid_index=rig.gid_index, hop_limit=64, is_global=1, port_num=1)))
    fails('dealloc_pd', errno.EBUSY, LIBRARY.ibv_dealloc_pd, parent)
    assert LIBRARY.ibv_destroy_ah(ah) == 0
    for domain in (parent, pd):
        assert LIBRARY.ibv_dealloc_pd(domain) == 0
