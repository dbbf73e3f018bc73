"""Small documents in the formats of office programs, and hostile ones, made by hand."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence

_XML = '<?xml version="1.0" encoding="UTF-8"?>'
_OPEN = "http://schemas.openxmlformats.org"
_WORD = f"{_OPEN}/wordprocessingml/2006/main"
_SHEET = f"{_OPEN}/spreadsheetml/2006/main"
_SLIDE = f"{_OPEN}/presentationml/2006/main"
_DRAWING = f"{_OPEN}/drawingml/2006/main"
_LINKS = f"{_OPEN}/officeDocument/2006/relationships"
_PACKAGE = f"{_OPEN}/package/2006"
_KIND = "application/vnd.openxmlformats-officedocument"


def make_zip(parts: Mapping[str, str | bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return out.getvalue()


def relate(*targets: tuple[str, str]) -> str:
    links = "".join(
        f'<Relationship Id="rId{number}" Type="{_LINKS}/{kind}" Target="{target}"/>'
        for number, (kind, target) in enumerate(targets, 1)
    )
    return f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships">{links}</Relationships>'


def name_types(**types: str) -> str:
    overrides = "".join(
        f'<Override PartName="/{part.replace("__", "/")}.xml" ContentType="{_KIND}.{kind}+xml"/>'
        for part, kind in types.items()
    )
    return (
        f'{_XML}<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" ContentType="application/vnd.'
        f'openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>'
        f"{overrides}</Types>"
    )


def make_docx(paragraphs: Sequence[tuple[int, str]] = (), table: Sequence[Sequence[str]] = ()) -> bytes:
    """A Word document of paragraphs, each with the level of its heading or 0, and a table at the end."""
    body = "".join(_word_paragraph(text, level) for level, text in paragraphs)
    rows = "".join(f"<w:tr>{''.join(f'<w:tc>{_word_paragraph(cell)}</w:tc>' for cell in row)}</w:tr>" for row in table)
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="Heading{level}"><w:name w:val="heading {level}"/>'
        f'<w:pPr><w:outlineLvl w:val="{level - 1}"/></w:pPr></w:style>'
        for level in (1, 2, 3)
    )
    return make_zip(
        {
            "[Content_Types].xml": name_types(
                word__document="wordprocessingml.document.main", word__styles="wordprocessingml.styles"
            ),
            "_rels/.rels": relate(("officeDocument", "word/document.xml")),
            "word/_rels/document.xml.rels": relate(("styles", "styles.xml")),
            "word/styles.xml": f'{_XML}<w:styles xmlns:w="{_WORD}">{styles}</w:styles>',
            "word/document.xml": f'{_XML}<w:document xmlns:w="{_WORD}"><w:body>{body}'
            f"{f'<w:tbl>{rows}</w:tbl>' if rows else ''}</w:body></w:document>",
        }
    )


def _word_paragraph(text: str, level: int = 0) -> str:
    style = f'<w:pPr><w:pStyle w:val="Heading{level}"/></w:pPr>' if level else ""
    return f"<w:p>{style}<w:r><w:t>{text}</w:t></w:r></w:p>"


def make_xlsx(name: str, rows: Sequence[Sequence[str]]) -> bytes:
    cells = "".join(
        f'<row r="{number}">'
        + "".join(
            f'<c r="{chr(64 + column)}{number}" t="inlineStr"><is><t>{value}</t></is></c>'
            for column, value in enumerate(row, 1)
        )
        + "</row>"
        for number, row in enumerate(rows, 1)
    )
    book = f'<sheets><sheet name="{name}" sheetId="1" r:id="rId1"/></sheets>'
    return make_zip(
        {
            "[Content_Types].xml": name_types(
                xl__workbook="spreadsheetml.sheet.main", xl__worksheets__sheet1="spreadsheetml.worksheet"
            ),
            "_rels/.rels": relate(("officeDocument", "xl/workbook.xml")),
            "xl/_rels/workbook.xml.rels": relate(("worksheet", "worksheets/sheet1.xml")),
            "xl/workbook.xml": f'{_XML}<workbook xmlns="{_SHEET}" xmlns:r="{_LINKS}">{book}</workbook>',
            "xl/worksheets/sheet1.xml": f'{_XML}<worksheet xmlns="{_SHEET}"><sheetData>{cells}</sheetData></worksheet>',
        }
    )


def make_pptx(title: str, text: str) -> bytes:
    shapes = "".join(
        f'<p:sp><p:nvSpPr><p:cNvPr id="{number}" name="shape{number}"/><p:cNvSpPr/><p:nvPr>'
        f'<p:ph type="{kind}"/></p:nvPr>'
        f"</p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/><a:p><a:r><a:t>{content}</a:t></a:r></a:p></p:txBody></p:sp>"
        for number, kind, content in ((2, "title", title), (3, "body", text))
    )
    tree = f'<p:nvGrpSpPr><p:cNvPr id="1" name=""/><p:cNvGrpSpPr/><p:nvPr/></p:nvGrpSpPr><p:grpSpPr/>{shapes}'
    spaces = f'xmlns:p="{_SLIDE}" xmlns:a="{_DRAWING}" xmlns:r="{_LINKS}"'
    slides = '<p:sldIdLst><p:sldId id="256" r:id="rId1"/></p:sldIdLst>'
    return make_zip(
        {
            "[Content_Types].xml": name_types(
                ppt__presentation="presentationml.presentation.main", ppt__slides__slide1="presentationml.slide"
            ),
            "_rels/.rels": relate(("officeDocument", "ppt/presentation.xml")),
            "ppt/_rels/presentation.xml.rels": relate(("slide", "slides/slide1.xml")),
            "ppt/presentation.xml": f"{_XML}<p:presentation {spaces}>{slides}</p:presentation>",
            "ppt/slides/slide1.xml": f"{_XML}<p:sld {spaces}><p:cSld><p:spTree>{tree}</p:spTree></p:cSld></p:sld>",
        }
    )


def make_pdf(*lines: str, is_loop: bool = False) -> bytes:
    """A PDF of one page; with `is_loop`, its tree of pages and its tables of objects lead back to themselves."""
    content = "BT /F1 12 Tf 72 720 Td 14 TL " + " ".join(f"({line}) Tj T*" for line in lines) + " ET"
    pages = "/Kids [3 0 R 2 0 R] /Count 1000000 /Parent 2 0 R" if is_loop else "/Kids [3 0 R] /Count 1"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages {pages} >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
        "/Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    out, places = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{one}\nendobj\n".encode()
    table = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n".encode()
    out += b"".join(f"{place:010} 00000 n \n".encode() for place in places)
    previous = f" /Prev {table}" if is_loop else ""
    trailer = f"trailer << /Size {len(objects) + 1} /Root 1 0 R{previous} >>\nstartxref\n{table}\n%%EOF"
    return out + trailer.encode()


def make_bomb(megabytes: int) -> bytes:
    """A Word document whose text is a thousand times as large as its file."""
    head = f'{_XML}<w:document xmlns:w="{_WORD}"><w:body><w:p><w:r><w:t>'
    tail = "</w:t></w:r></w:p></w:body></w:document>"
    return make_zip(
        {
            "[Content_Types].xml": name_types(word__document="wordprocessingml.document.main"),
            "_rels/.rels": relate(("officeDocument", "word/document.xml")),
            "word/document.xml": head.encode() + b"a" * (megabytes * 2**20) + tail.encode(),
        }
    )
