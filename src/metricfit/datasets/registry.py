"""What the data sets must look like: shape, type and SHA-256 of the bytes of every array."""

from __future__ import annotations

from typing import NamedTuple


class Array(NamedTuple):
    """The expected shape, type and checksum (of the little-endian bytes in row order) of one array."""

    shape: tuple[int, ...]
    dtype: str
    sha256: str


#: What the protected attribute of each fairness set means.
GROUP_NAMES = {
    "adult": "gender",
    "compas": "gender",
    "crimes": "race",
    "default": "gender",
    "lawschool": "race",
}

FILES: dict[str, dict[str, Array]] = {
    "abalone": {
        "X": Array((4177, 8), "float32", "e7031fa68699c00365f5d64eb2a4da09190786e0774fbee7a9cca33dd8afc567"),
        "y": Array((4177,), "int16", "1f275cb83e5588443fe54bd4cbbb23076812c422348d33d6c0c30585950e42b7"),
    },
    "adult": {
        "X": Array(
            (48842, 123), "float32", "735fa94b8ce52a8220a59704c603d3ba29a55fc2acf015f5b5d2301f0a1bf8f2"
        ),
        "y": Array((48842,), "int16", "98df0a172b884e5a21cbd038bd54eb856bc256ce1043ab07582587f3a6259d04"),
        "group": Array((48842,), "int8", "31dc5121c394a2eaf477db27699b57aa54692e69cb75dbbae9b3724bf6eb51a7"),
    },
    "cifar100_cv": {
        "y": Array((10000,), "int16", "3768c6259787ad29c455c16187ffbbce218b5dafcbd2ba9701ea204f47acbf65"),
        "P": Array(
            (10000, 100), "float16", "8b64bf426ffe75ac5d345996b537595e7e238ce21919e56016ec519f2f6d6f3d"
        ),
    },
    "cifar10_flip": {
        "P_train": Array(
            (27500, 10), "float32", "857bcd2b682839e3c3e9f2b76b37665025fecf3b06727332135152bcb4ce77d7"
        ),
        "y_train": Array(
            (27500,), "int16", "d8e6fcd51615b61b322f96400195508f8079b68358fbc06044ef08e83365e9f3"
        ),
        "true_y_train": Array(
            (27500,), "int16", "f2d737c1be79dedfc44f32cf30c007437847b2728070e885efd0772649c7257d"
        ),
        "P_test": Array(
            (5500, 10), "float32", "f748afc07f4a3efa9fc3b85e39dabf5f8deb70d631aa2eeef6a3fee84df98663"
        ),
        "y_test": Array((5500,), "int16", "3c046740590e8c7f6eb166e3076fd228fd7fdcd83a098fc5f14cfea11a4fda8b"),
        "true_y_test": Array(
            (5500,), "int16", "7dc094eaaf42ef053420b705f8886a80fba5fd26147a4e5511026b95fe6256d1"
        ),
    },
    "cifar55_test": {
        "y_train": Array(
            (50000,), "int16", "25e200156ee3f4f683ced8972831ec7d9692570e6c040cdc6493234f69529681"
        ),
        "P_test": Array(
            (10000, 55), "float32", "dbc7d2819cce1dc9ce2a072a5c0240070150f9642451ac55802e5d480f3ff05f"
        ),
        "y_test": Array(
            (10000,), "int16", "13fd48af84a7f38817a7eefb562da25a534fef8eb5502234302b70e3c59861e8"
        ),
    },
    "compas": {
        "X": Array((6172, 32), "float32", "452d6eab28d86bbc2db3176ba20563ea242fc0910a54f90886ef1d2e8a2cc9a1"),
        "y": Array((6172,), "int16", "1b1c6b764ce2388c8ebd4de3fa1f2c204fe007b9045262ae403ac0b02af809ef"),
        "group": Array((6172,), "int8", "f2b6ed7c200fce22cb88352dba40556341a5dfd7a9dd089c868884e63017c98c"),
    },
    "covtype": {
        "X": Array(
            (426598, 54), "float32", "d8709b023b8ae8649d1e23b678b080d23d4ca342301a1a1e19b0db1781dac77b"
        ),
        "y": Array((426598,), "int16", "6840e7cf1d7ce18239b3b6c6e7d887205ca0dcc3bd1594b756e73fa0e2402d3d"),
    },
    "crimes": {
        "X": Array(
            (1994, 132), "float32", "f6314d8510594fb8c67ffc397a25eaf193af06459b3d97ee271bf7c3026764be"
        ),
        "y": Array((1994,), "int16", "314047bb98b589325dc1b24947b405ce918c466d815903a6a12fd2c408885bfe"),
        "group": Array((1994,), "int8", "6e891444dec9bd8b75495cca0ca777eceb2fd7e31cc41a7bb571a4ff2eb78d31"),
    },
    "debian_maintainer_mlp": {
        "y": Array((15293,), "int16", "009f839c92b3b2117aadd13101b5a13d98821d4b4d4152a3b60b9f3d1b3378ec"),
        "P": Array(
            (15293, 945), "float16", "a0d5dc957eb4850af0d9398c1f541cc0125c19a515e33175c7c28831e262918b"
        ),
    },
    "debian_section_mlp": {
        "y": Array((30717,), "int16", "c331af8b4ebce9af175fdc13f963ed12c6bbd249e4fbc89b95d5e7337515ee07"),
        "P": Array(
            (30717, 55), "float16", "ec2708624390df2e04967a7285b19192af123f13be2cb16160e5de46ffbf69c5"
        ),
    },
    "default": {
        "X": Array(
            (30000, 23), "float32", "d36a239d0396579573bcbee8e9a1e45b76da089ae8a90bce657c450d285c7178"
        ),
        "y": Array((30000,), "int16", "4afe71e8a0f488e1064b04d5a5721af3868486fad42b47fd404bc7aefde76afe"),
        "group": Array((30000,), "int8", "339efdda694b7aa8ec3bbd5931b9dd9498971c02a11d863d7dd940f2cef681e2"),
    },
    "lawschool": {
        "X": Array(
            (20798, 16), "float32", "42a9d4f90a9795acede61f1fcb0fab3f17e6ef44065942adc6bea6e6fb8219f0"
        ),
        "y": Array((20798,), "int16", "0a38fde63c45a65230a8ae7a615300cd8861457c28ee0dc5b673a3d56200334d"),
        "group": Array((20798,), "int8", "f564db2d086e029adc017d0d0a355c9e2e56d4daa848291bb54cc6d9c9d3f883"),
    },
    "macho": {
        "X": Array((6059, 64), "float32", "dd3837f90cdfc810be2d647576e28fd5ce86f41e36e6a125d72d54dc7e13f157"),
        "y": Array((6059,), "int16", "6e29bafbefca40f58ed18aa74252eda2a55dd4b04e5622cdef7792dfddab02b9"),
    },
    "news20_cv": {
        "y": Array((7532,), "int16", "7f81728ed2df4a718c138d84d951018ae69ac76963b6fedad2a1ade949ceaaaa"),
        "P": Array((7532, 20), "float32", "1ca2d14084bbeeb653db28647a52fc079a536a7b39ed5ed7d89589d7d34aa1f1"),
    },
    "pageblocks": {
        "X": Array((5473, 10), "float32", "d2dbdbb28a02ef9468e65f0adf0e270c2569fc0c5144e5959d483a8cae28601d"),
        "y": Array((5473,), "int16", "ad659513a084142c02b76f6ca8caa507ff26f28a42190d9ebb9d552dd1b4ea26"),
    },
    "satimage": {
        "X": Array((6435, 36), "float32", "c09a469df4fe0c5af5159e177a04b427f4a2b3b55d5a5f8c7ecd399249cbbc18"),
        "y": Array((6435,), "int16", "e34ebb203e415fcda62df7f6573ca4799241758b357d0323b1d5f8cc1e077d3c"),
    },
}
